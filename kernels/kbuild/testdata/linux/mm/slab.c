const char *slab_file(void) { return FILE; }
int slab(int x)
{
	return x + 1;
}
