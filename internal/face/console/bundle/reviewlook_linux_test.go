package main

import (
	"strings"
	"testing"
)

// A call made in a view is shown with the diff of its changes there, and approving applies what was
// shown.
func TestInboxShowsWhatAReviewedCallChanges(t *testing.T) {
	u := newUser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	u.write("agent.hcl", "policy {\n  dangerous = \"review\"\n}\ntool \"stamp\" {\n  description = \"Stamps.\"\n"+
		"  command { argv = [\"sh\", \"-c\", \"date +%N >stamp.txt; echo more >>a.txt\"] }\n}\n")
	u.write("a.txt", "old\n")
	s := u.connect("one")
	told := s.call("stamp", map[string]any{})
	if strings.Contains(told, "no view") {
		missing(t, "there are no views here: "+told)
	}
	p := u.open()
	waiting, _, stop := p.inbox()
	stop()
	if len(waiting) != 1 {
		t.Fatal(waiting, told)
	}
	l, body := p.look(waiting[0])
	for _, part := range []string{`new file: stamp.txt`, `+more`, `--- a/a.txt`, `"files":["a.txt","stamp.txt"]`} {
		if !strings.Contains(body, part) {
			t.Errorf("the inbox does not show %q: %s", part, body)
		}
	}
	if u.read("a.txt") != "old\n" || u.read("stamp.txt") != "" {
		t.Error("it has changed the workspace")
	}
	if status, told := p.decide(l, "once"); status != 200 {
		t.Fatal(status, told)
	}
	told = s.call("stamp", map[string]any{})
	if stamp := strings.TrimSpace(u.read("stamp.txt")); u.read("a.txt") != "old\nmore\n" || stamp == "" ||
		!strings.Contains(body, "+"+stamp) {
		t.Errorf("it is not what was shown: %s %q %s", told, stamp, body)
	}
}
