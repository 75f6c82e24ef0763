const char *writeback_file(void) { return FILE; }
int writeback(int x)
{
	return x + 1;
}
