package loopback

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIs(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.9.8.7": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.": false, "localhost.example.com": false, "a.localhost": false, "0.0.0.0": false,
		"127.1": false, "0x7f000001": false, "2130706433": false, "::": false, "10.0.0.1": false,
		"[::1]": false, "127.0.0.1:80": false, "::1%lo": true, "::ffff:10.0.0.1": false,
	} {
		assert.Equal(t, want, Is(host), host)
	}
}
