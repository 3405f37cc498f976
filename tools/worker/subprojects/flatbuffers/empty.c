/* Stands where the shared-library target, which we do not build, expects a static library. */
void mediarooms_empty(void);
void mediarooms_empty(void) {}
