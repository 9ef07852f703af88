void packets_recurrent(void) {}
