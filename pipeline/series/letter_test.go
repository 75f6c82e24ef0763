package series

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// thread is an mbox as lists have them: a cover letter, a patch with folded and
// encoded headers, and a line that only looks like the next mail.
const thread = `From 9eb376761dec1fd5d22344cfbf73452081b8734d Mon Sep 17 00:00:00 2001
Message-Id: <cover.1@example.org>
From: =?utf-8?q?Ada_L=C3=B6velace?= <ada@example.org>
To: linux-fsdevel@vger.kernel.org, "Doe, Jane" <jane@example.org>
Cc: linux-mm@kvack.org
References: <v1@example.org>
 <reply@example.org>
Subject: [PATCH v2 0/1] writeback: let readers in
 between chunks

From time to time a reader waits.

From git@z Thu Jan  1 00:00:00 1970
Message-ID: <patch.1@example.org>
Subject: =?iso-8859-1?q?[PATCH_v2_1/1]_writeback:_gr=FC=DFe?=
From: Ada <ada@example.org>

>From here on it is text.
---
diff --git a/x b/x
`

func TestLetters(t *testing.T) {
	want := []letter{
		{
			Subject: "[PATCH v2 0/1] writeback: let readers in between chunks", From: "Ada Lövelace <ada@example.org>",
			To: []string{"linux-fsdevel@vger.kernel.org", "Doe, Jane <jane@example.org>"}, Cc: []string{"linux-mm@kvack.org"},
			MessageID: "<cover.1@example.org>", References: []string{"<v1@example.org>", "<reply@example.org>"},
		},
		{Subject: "[PATCH v2 1/1] writeback: grüße", From: "Ada <ada@example.org>", MessageID: "<patch.1@example.org>"},
	}
	got := letters([]byte(thread))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if c, ok := cover(got); !ok || c.MessageID != "<cover.1@example.org>" {
		t.Errorf("cover letter %+v", c)
	}
	if d := cmp.Diff(want, letters([]byte(strings.ReplaceAll(thread, "\n", "\r\n")))); d != "" {
		t.Errorf("with line ends of DOS (-want +got):\n%s", d)
	}
	if got := letters([]byte("no mail at all")); len(got) != 0 {
		t.Errorf("mails %+v in what is none", got)
	}
}

func TestBare(t *testing.T) {
	for in, want := range map[string]string{
		"[PATCH v2 3/5] writeback: let readers in": "writeback: let readers in",
		"[RFC][PATCH] mm: x":                       "mm: x",
		"Re: [PATCH 0/2] two":                      "two",
		"mm: [x] stays":                            "mm: [x] stays",
		"[PATCH]":                                  "[PATCH]",
	} {
		if got := bare(in); got != want {
			t.Errorf("bare(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzLetters holds foreign mail to what a reply may have: single lines, and
// message ids that are nothing else.
func FuzzLetters(f *testing.F) {
	f.Add([]byte(thread))
	f.Add([]byte("From x 00:00:00 2001\nSubject: =?utf-8?q?a=0D=0ABcc:_x@y?=\nMessage-Id: <a@b>\n\n"))
	f.Add([]byte("Subject: =?utf-16?b?//4=?=\nTo: ,,,;\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, l := range letters(text) {
			for _, s := range append(append([]string{l.Subject, l.From, l.MessageID}, l.To...), append(l.Cc, l.References...)...) {
				if strings.ContainsAny(s, "\r\n") {
					t.Errorf("a line break in %q", s)
				}
			}
			if l.MessageID != "" && messageID.FindString(l.MessageID) != l.MessageID {
				t.Errorf("message id %q", l.MessageID)
			}
			bare(l.Subject)
		}
	})
}
