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
