package network

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tell is called once for each refusal, and may read the log.
func TestRefusalsAreTold(t *testing.T) {
	parsed, err := Parse([]string{"b.example"})
	require.NoError(t, err)
	var told []string
	log := new(Log)
	log.Tell = func(c Connection) { told = append(told, log.ExplainThose(c)) }
	log.begin(parsed)()
	for range 3 {
		log.refuse("a.example", 443, notNamed)
		log.add(Connection{Host: "b.example", Port: 80, Sent: 1}, time.Now())
	}
	log.refuseUnasked("c.example", 443, errors.New("no"))
	const said = `The sandbox refused the network to a.example. The user can allow that in agent.hcl: network = ["b.example", "a.example"].`
	const other = "The sandbox refused a connection to c.example: no."
	assert.Equal(t, []string{said, other}, told)
	assert.Equal(t, said+" "+other, log.Explain())
	list, _ := log.Connections()
	assert.Len(t, list, 5)
	assert.Equal(t, 3, list[0].Times)
}

// The single call that a process serves has its connections from their beginning, as they may outlive it.
func TestConnectionsOfTheCallThatIsServed(t *testing.T) {
	process, calls := &Log{Serving: new(Serving)}, [2]*Log{new(Log), new(Log)}
	made, began := Connection{Host: "a.example", Port: 80, Address: "192.0.2.1:80"}, time.Now()
	has := func(l *Log) string {
		list, _ := l.Connections()
		said := ""
		for _, c := range list {
			said += c.String() + "\n"
		}
		return said
	}
	first := process.Serving.Begin(With(t.Context(), calls[0]))
	ended := process.opened(made, began)
	assert.Equal(t, "a.example at 192.0.2.1:80: open when the call ended\n", has(calls[0]))
	second := process.Serving.Begin(With(t.Context(), calls[1]))
	process.opened(made, began)(made)
	process.refuse("b.example", 80, notNamed)
	assert.Empty(t, has(calls[1]), "it is not known whose they are")
	first()
	process.refuse("c.example", 80, notNamed)
	second()
	made.Sent = 7
	ended(made)
	assert.Contains(t, has(calls[0]), "7 bytes sent")
	assert.NotContains(t, has(calls[0]), "open")
	assert.Contains(t, calls[1].Explain(), "c.example")
	assert.NotContains(t, calls[1].Explain(), "b.example")
	list, _ := process.Connections()
	assert.Len(t, list, 4)
}
