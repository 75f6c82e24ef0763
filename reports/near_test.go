package reports

import "testing"

func TestNear(t *testing.T) {
	for in, want := range map[string]string{
		"sata-7200: 20.98876953125MiB/s, 488386584KiB, queue depth 1": "sata-7200: 22.01MB/s, 500.1GB, queue depth 1",
		"write cache 16MiB, volatile":                                 "write cache 16MiB, volatile",
		"126MB/s at 0B":                                               "126MB/s at 0B",
		"99999999999999999999TiB":                                     "99999999999999999999TiB",
		"serial S3Z8NB0K400000B":                                      "serial S3Z8NB0K400000B",
		"":                                                            "",
	} {
		if got := near(in); got != want {
			t.Errorf("near(%q) = %q, want %q", in, got, want)
		}
	}
}
