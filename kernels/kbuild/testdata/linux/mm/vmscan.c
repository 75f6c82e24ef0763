const char *vmscan_file(void) { return FILE; }
int vmscan(int x)
{
	return x + 1;
}
