/* The part of family hvx that looks at hvx/wrap.h and hvx/divide.h. */
#ifndef HTP_CHECK_WRAPPERS_H
#define HTP_CHECK_WRAPPERS_H

struct check;
void check_wrappers(struct check *c);

#endif
