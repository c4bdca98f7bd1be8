package plugintest

import "github.com/toolhost/toolhost/plugins/sdk/fakehost"

// Host is the host that a tool under test sees; see [fakehost.Host].
type Host = fakehost.Host

// Event is what a tool emitted.
type Event = fakehost.Event
