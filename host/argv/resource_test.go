package argv_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
)

func TestURITemplate(t *testing.T) {
	for _, tt := range []struct {
		template, uri string
		want          map[string]string
	}{
		{"note://{id}", "note://7", map[string]string{"id": "7"}},
		{"note://{id}", "note://a%2Fb%20c", map[string]string{"id": "a/b c"}},
		{"note://{id}", "note://a/b", nil},
		{"note://{id}", "note://", nil},
		{"file:///{+path}", "file:///a/b.txt", map[string]string{"path": "a/b.txt"}},
		{"x://{a}/y/{b}.json", "x://1/y/2.json", map[string]string{"a": "1", "b": "2"}},
		{"x://{a}/y/{b}.json", "x://1/y/2xjson", nil},
		{"x://plain?q=1", "x://plain?q=1", map[string]string{}},
		{"note://{id}", "note://%zz", nil},
		{"x://{a}{b}", "x://%20%20", map[string]string{"a": " ", "b": " "}},
		{"x://{+a}{b}", "x://a/%2Fc", map[string]string{"a": "a//", "b": "c"}},
		{"x://{+path}", "x://a\nb", nil},
		{"note://{id}", "note://e\u0301", map[string]string{"id": "e\u0301"}},
	} {
		template, err := argv.ParseURITemplate(tt.template)
		require.NoError(t, err)
		values, ok := template.Match(tt.uri)
		assert.Equal(t, tt.want != nil, ok, tt.uri)
		assert.Equal(t, tt.want, values, tt.uri)
	}
	for _, wrong := range []string{"x://{", "x://}", "x://{}", "x://{a}{a}", "x://{?q}", "x://{a,b}", "x://{a*}"} {
		_, err := argv.ParseURITemplate(wrong)
		assert.Error(t, err, wrong)
	}
}
