unsigned work(void);
