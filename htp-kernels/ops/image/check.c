/* The family's ops against their definitions, sums in f64. */
#include "ops/image/check_image.h"

void check_image(struct check *c) {
    check_im2col(c);
    check_products(c);
}
