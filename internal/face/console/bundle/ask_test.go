package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// A call run from a tool's form waits in the inbox if a rule asks, and continues once approved. Looking
// at it is not recorded as a call.
func TestRunOfAToolThatAsks(t *testing.T) {
	u := newUser(t)
	u.write("a.txt", "old\n")
	u.connect("one").call("write_file", map[string]any{"path": "b.txt", "content": "another's\n"}) // makes the project known
	p := u.open()
	waiting, more, stop := p.inbox()
	defer stop()
	if len(waiting) != 1 {
		t.Fatal(waiting)
	}
	tries, ran := 0, make(chan string, 1)
	go func() { // a call waits while the console says in time that somebody looks: on a busy machine it is made again
		told := "needs approval"
		for strings.Contains(told, "needs approval") && tries < 20 {
			tries++
			r, err := p.client.Do(p.request("POST", "/api/try", map[string]string{"space": waiting[0].Space, "tool": "write_file",
				"do": "run", "params": `{"path": "a.txt", "content": "new\n"}`}))
			if err != nil {
				told = err.Error()
				break
			}
			var got struct {
				Result struct{ Error struct{ Message string } }
			}
			err = json.NewDecoder(r.Body).Decode(&got)
			r.Body.Close()
			if told = got.Result.Error.Message; err != nil {
				told = err.Error()
			}
		}
		ran <- told
	}()
	var own []line
	for len(own) == 0 {
		var news struct{ Add []line }
		if err := json.Unmarshal([]byte(more()), &news); err != nil {
			t.Fatal(err)
		}
		own = news.Add
	}
	l, _ := p.look(own[0])
	l, body := p.look(l) // as a user who returns to it
	if !strings.Contains(body, "a.txt") || strings.Contains(body, "b.txt") || u.read("a.txt") != "old\n" {
		t.Fatalf("a.txt: %q, shown is %s", u.read("a.txt"), body)
	}
	if status, told := p.decide(l, "once"); status != 200 {
		t.Fatalf("%d %s", status, told)
	}
	if failed := <-ran; failed != "" || u.read("a.txt") != "new\n" {
		t.Errorf("%s, a.txt: %q", failed, u.read("a.txt"))
	}
	out, err := u.command("events", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	if calls := strings.Count(string(out), `"event":"tool_call_started"`); calls != 1+tries || strings.Contains(string(out), "dry_run") {
		t.Errorf("%d calls are in the record, not those that were made:\n%s", calls, out)
	}
}
