package qmp

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func event(name string) string {
	return `{"event": "` + name + `", "data": {"reason": "x"}, "timestamp": {"seconds": 12, "microseconds": 34}}`
}

func names(es <-chan Event) (all []string) {
	for e := range es {
		if n := Dropped(e); n > 0 {
			all = append(all, fmt.Sprintf("dropped %d", n))
		} else {
			all = append(all, e.Event)
		}
	}
	return all
}

// Nothing said before the first subscription is lost, not even before the
// greeting; a later subscriber gets what comes from then on.
func TestEarlyEvents(t *testing.T) {
	f, client := newFake(t)
	go func() {
		f.say(event("STOP"))
		f.greet()
		f.say(event("RESUME"))
		c, _ := f.next()
		f.reply(c.ID, "{}")
		f.say(event("SHUTDOWN"))
		f.conn.Close()
	}()
	q, err := Connect(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	// As the one reader delivers in order, RESUME is in before the reply is.
	if err := q.Execute(t.Context(), "sync", nil, nil); err != nil {
		t.Fatal(err)
	}
	first := q.Subscribe(t.Context())
	if diff := cmp.Diff([]string{"STOP", "RESUME", "SHUTDOWN"}, names(first)); diff != "" {
		t.Errorf("first subscriber (-want +got):\n%s", diff)
	}
	q.Disconnect()
	if got := names(q.Subscribe(t.Context())); got != nil {
		t.Errorf("subscriber after the end got %v", got)
	}
}

func TestEventFields(t *testing.T) {
	f, client := newFake(t)
	go func() {
		f.greet()
		f.say(`{"timestamp": {"seconds": 1401385907, "microseconds": 422329}, "event": "GUEST_PANICKED", "data": {"action": "pause"}}`)
	}()
	q, err := Connect(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Disconnect()
	events, err := q.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Event{Event: "GUEST_PANICKED", Data: map[string]any{"action": "pause"}}
	want.Timestamp.Seconds, want.Timestamp.Microseconds = 1401385907, 422329
	if diff := cmp.Diff(want, <-events); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// A subscriber that reads nothing blocks neither commands nor the end, and
// learns how much it missed at the place where it missed it.
func TestSlowSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		q := connect(t, func(f *fake, c command) string {
			if c.Execute == "flood" {
				for i := range n {
					f.say(event(fmt.Sprint("E", i)))
				}
			}
			return `{"return": {}, "id": "` + c.ID + `"}`
		})
		slow := q.Subscribe(t.Context())
		if err := q.Execute(t.Context(), "flood", nil, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := q.Execute(t.Context(), "query-status", nil, nil); err != nil {
			t.Fatal(err)
		}
		q.Disconnect()
		got := names(slow)
		// What fits is the queue, and the one event its pump may hold.
		kept := len(got) - 1
		if kept != queueLen && kept != queueLen+1 {
			t.Errorf("kept %d events, want %d or one more", kept, queueLen)
		}
		var want []string
		for i := range kept {
			want = append(want, fmt.Sprint("E", i))
		}
		want = append(want, fmt.Sprintf("dropped %d", n-kept))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestUnsubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := connect(t, func(f *fake, c command) string {
			f.say(event("STOP"))
			return `{"return": {}, "id": "` + c.ID + `"}`
		})
		ctx, cancel := context.WithCancel(t.Context())
		events := q.Subscribe(ctx)
		if err := q.Execute(t.Context(), "stop", nil, nil); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		for range events { // at most the one event, then closed
		}
		q.events.mu.Lock()
		left := len(q.events.subs)
		q.events.mu.Unlock()
		if left != 0 {
			t.Errorf("%d subscriptions left", left)
		}
		q.Disconnect()
	})
}

func TestQueue(t *testing.T) {
	var q queue
	var in, out int // events pushed, and accounted for on the way out
	push := func(n int) {
		for range n {
			in++
			q.push(Event{Event: "E"})
		}
	}
	pop := func(n int) (dropped int) {
		for range n {
			e, ok := q.pop()
			if !ok {
				break
			}
			if d := Dropped(e); d > 0 {
				out += d
				dropped += d
			} else {
				out++
			}
		}
		return dropped
	}

	push(queueLen + 5)
	if len(q) != queueLen+1 {
		t.Errorf("queue holds %d, want %d events and a notice", len(q), queueLen)
	}
	pop(1)
	push(1) // the notice holds the last place
	if got := Dropped(q[queueLen-1]); got != 6 {
		t.Errorf("notice counts %d, want 6", got)
	}
	pop(1)
	push(queueLen) // one fits behind the notice, then a second gap
	if got := pop(len(q)); got != 6+queueLen-1 {
		t.Errorf("%d dropped, want %d", got, 6+queueLen-1)
	}
	if in != out {
		t.Errorf("%d events went in, %d are accounted for", in, out)
	}
}
