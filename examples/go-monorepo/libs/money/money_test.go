package money

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]Cents{"12.50": 1250, "3": 300, "0.5": 50, "-1.25": -125} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "1.234", "1.-5"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %d, want an error", text, got)
		}
	}
}

func TestString(t *testing.T) {
	for cents, want := range map[Cents]string{1250: "12.50", -5: "-0.05"} {
		if got := cents.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
