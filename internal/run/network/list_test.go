package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestListReaches(t *testing.T) {
	list, err := Parse([]string{"Registry.Example.org.", "*.example.com:8443", "bücher.example", "db:5432",
		"localhost:5432", "10.1.2.3:5433", "[2001:db8::1]:443", "2001:db8::2", "a.b.example.com:8443"})
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		port uint16
		want string
	}{
		{"registry.example.org", 443, "Registry.Example.org."},
		{"registry.example.org", 80, "Registry.Example.org."},
		{"registry.example.org", 22, ""},
		{"x.registry.example.org", 443, ""},
		{"xregistry.example.org", 443, ""},
		{"example.com", 8443, ""},
		{"a.example.com", 8443, "*.example.com:8443"},
		{"a.b.c.example.com", 8443, "*.example.com:8443"},
		{"a.b.example.com", 8443, "a.b.example.com:8443"},
		{"a.example.com", 443, ""},
		{"aexample.com", 8443, ""},
		{"xn--bcher-kva.example", 443, "bücher.example"},
		{"db", 5432, "db:5432"},
		{"localhost", 5432, ""},
	} {
		found := list.find(c.name, c.port)
		if c.want == "" {
			assert.Nil(t, found, "%s:%d", c.name, c.port)
		} else if assert.NotNil(t, found, "%s:%d", c.name, c.port) {
			assert.Equal(t, c.want, found.Text)
		}
	}
	for address, want := range map[string]bool{"127.0.0.1:5432": true, "127.0.0.1:5433": false, "10.1.2.3:5433": true,
		"10.1.2.3:5432": false, "10.1.2.4:5433": false, "[2001:db8::1]:443": true, "[2001:db8::2]:80": true,
		"[2001:db8::3]:80": false} {
		at := netip.MustParseAddrPort(address)
		assert.Equal(t, want, list.literal(at.Addr(), at.Port()) != nil, address)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "names no host",
		"https://example.com/a":     "is a URL",
		"example.com/path":          "has a path",
		"10.0.0.0/8":                "range of addresses",
		"*":                         "means every host",
		"*:443":                     "has a * in the wrong place",
		"a.*.example.com":           "has a * in the wrong place",
		"*example.com":              "has a * in the wrong place",
		"*.*.example.com":           "has a * in the wrong place",
		"*.":                        "is not a host name",
		"example.com:0":             "port that is not between",
		"example.com:65536":         "port that is not between",
		"example.com:https":         "port that is not between",
		"example.com:80,443":        "port that is not between",
		"example.com:":              "port that is not between",
		"exa mple.com":              "is not a host name",
		"user@example.com":          "is not a host name",
		".example.com":              "is not a host name",
		"a..example.com":            "is not a host name",
		"2130706433":                "unusual spelling",
		"0x7f.1":                    "unusual spelling",
		"127.1":                     "unusual spelling",
		"*.10":                      "unusual spelling",
		"foo.localhost":             "means this machine",
		"*.localhost":               "means this machine",
		"0.0.0.0:80":                "not the address of one host",
		"[::]:80":                   "not the address of one host",
		"224.0.0.1":                 "not the address of one host",
		"255.255.255.255":           "not the address of one host",
		"198.18.0.7:80":             "stands for names",
		"198.19.255.255":            "stands for names",
		"[fe80::1%eth0]:80":         "has a zone",
		"[example.com]:80":          "brackets",
		"[10.1.2.3]:80":             "brackets",
		strings.Repeat("a.", 130):   "is not a host name",
		strings.Repeat("a", 64):     "is not a host name",
		"ex\x00ample.com":           "is not a host name",
		"example.com\nnameserver 1": "is not a host name",
	} {
		_, err := Parse([]string{"example.org", text})
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		var mistake *Mistake
		require.ErrorAs(t, err, &mistake, text)
		assert.Contains(t, mistake.What, want, text)
		assert.Equal(t, 1, mistake.Index, text)
		assert.NotEmpty(t, mistake.Fix, text)
	}
	_, err := Parse([]string{"*", "example.org", "https://example.com/x"})
	require.Len(t, Mistakes(err), 2)
	assert.Equal(t, 2, Mistakes(err)[1].Index)
	for name, list := range map[string][]string{"empty": {}, "long": make([]string, MostEntries+1)} {
		_, err := Parse(list)
		var mistake *Mistake
		require.ErrorAs(t, err, &mistake, name)
		assert.Equal(t, -1, mistake.Index, name)
	}
}

// A program may listen at a port that only one other address has.
func TestSockets(t *testing.T) {
	for name, c := range map[string]struct {
		list []string
		want []string
	}{
		"web":      {[]string{"a.example", "b.example"}, []string{"0.0.0.0:80", "0.0.0.0:443"}},
		"name":     {[]string{"db.example:5432"}, []string{"198.18.0.2:5432"}},
		"ask":      {[]string{"ask", "ask:5432"}, []string{"0.0.0.0:22", "0.0.0.0:80", "0.0.0.0:443", "0.0.0.0:5432"}},
		"local":    {[]string{"localhost:5432"}, []string{"127.0.0.1:5432"}},
		"literal":  {[]string{"10.1.2.3:5432", "[2001:db8::1]:443"}, []string{"10.1.2.3:5432", "[2001:db8::1]:443"}},
		"wildcard": {[]string{"db.example:5432", "*.example:5432", "c.example:5432"}, []string{"0.0.0.0:5432"}},
		"twice":    {[]string{"a.example:5432", "a.example:5432"}, []string{"198.18.0.2:5432"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := Parse(c.list)
			require.NoError(t, err)
			var got []string
			sockets := NewServer(list, nil, nil).Sockets()
			for _, s := range sockets[2:] {
				got = append(got, s.At.String())
			}
			assert.Equal(t, Socket{true, netip.MustParseAddrPort("0.0.0.0:53")}, sockets[0])
			assert.ElementsMatch(t, c.want, got)
		})
	}
}

func TestSuggest(t *testing.T) {
	assert.Equal(t, `network = ["a.example", "b.example"]`, Suggest([]string{"a.example"}, "b.example", "a.example"))
	assert.Equal(t, `network = ["c.example:22", "b.example"]`, Suggest([]string{"b.example:443", "c.example:22"}, "b.example"))
}
