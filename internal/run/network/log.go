package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// mostKept is how many connections a log has, and mostText how long they are. Further ones are counted.
const (
	mostKept = 1000
	mostText = 100 << 10 // of their hosts and reasons together, in bytes, as programs choose them
)

// settlePatience bounds the wait of Settle.
const settlePatience = time.Second

// mostExplained is how many hosts an explanation names.
const mostExplained = 10

// Connection is one connection of a process, or one that was refused.
type Connection struct {
	// Host is the name or address that was meant, and Port is 0 for a name that was
	// only looked up.
	Host string `json:"host"`
	Port uint16 `json:"port,omitempty"`
	// Address is what was connected to, or "proxy".
	Address string `json:"address,omitempty"`
	// Sent and Received count bytes, as the process sees it.
	Sent     int64 `json:"sent,omitempty"`
	Received int64 `json:"received,omitempty"`
	// Seconds is how long it lasted.
	Seconds float64 `json:"seconds,omitempty"`
	// Credential names the one that was added to its requests.
	Credential string `json:"credential,omitempty"`
	// Approved says how a person allowed a connection that was asked about.
	Approved string `json:"approved,omitempty"`
	// Refused says why it was refused, Failed why it could not be made.
	Refused string `json:"refused,omitempty"`
	Failed  string `json:"failed,omitempty"`
	// Times is how often the same was refused, where that is more than once.
	Times int `json:"times,omitempty"`

	undecided bool // a person could still allow it
}

// String says it in one line.
func (c Connection) String() string {
	host := asEntry(c.Host, c.Port)
	times := ""
	if c.Times > 1 {
		times = fmt.Sprintf(" (%d times)", c.Times)
	}
	switch {
	case c.Refused != "":
		return fmt.Sprintf("%s refused: %s%s", host, c.Refused, times)
	case c.Failed != "":
		return fmt.Sprintf("%s failed: %s%s", host, c.Failed, times)
	}
	said := fmt.Sprintf("%s at %s: %d bytes sent, %d received, %gs", host, c.Address, c.Sent, c.Received, c.Seconds)
	if c.Credential != "" {
		said += " (with credential " + c.Credential + ")"
	}
	if c.Approved != "" {
		said += " (approved " + c.Approved + ")"
	}
	return said
}

// Log is what the processes of a call did by the network. A nil one keeps nothing.
type Log struct {
	// Tell is called with each connection that was refused or failed, once for those
	// that are alike. It may be called by several goroutines at once, and may be nil.
	Tell func(Connection)
	// Ask has a person decide on a connection to "HOST:PORT", and says how it was
	// approved. The error says why it was not; ErrUndecided is in it where nobody has
	// decided. Nil is where nobody can be asked.
	Ask func(to string) (approved string, err error)
	// Learn has the list of each process ask about what it does not name.
	Learn bool
	// Offline is for processes in a view that is only looked at: they reach nothing.
	Offline bool

	mu          sync.Mutex
	answers     map[string]*answer // by what was asked
	asking      sync.Mutex         // one question at a time
	looked      []string           // names that were looked up, when learning
	connections []Connection
	text        int // bytes of hosts and reasons in connections
	missed      int
	list        []string // of the last process that had one
	running     int
	idle        chan struct{} // closed when none is running
}

// begin says that a process may make connections from now on, done that all have
// ended.
func (l *Log) begin(list List) (done func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = list.texts()
	if l.running == 0 {
		l.idle = make(chan struct{})
	}
	l.running++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running--; l.running == 0 {
			close(l.idle)
		}
	}
}

// Settle waits until the connections of processes that have ended are logged, for
// a moment at most: a host may take its time to end one.
func (l *Log) Settle() {
	l.mu.Lock()
	running, idle := l.running, l.idle
	l.mu.Unlock()
	if running == 0 {
		return
	}
	select {
	case <-idle:
	case <-time.After(settlePatience):
	}
}

// Connections lists them, in the order in which they ended, and says how many
// more there were than the log keeps.
func (l *Log) Connections() (list []Connection, missed int) {
	if l == nil {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.connections), l.missed
}

// notNamed is why a host is refused that the list does not name.
const notNamed = "the list does not name it"

// Refused lists the hosts that were refused since the list does not name them, as
// they are written in one.
func (l *Log) Refused() (hosts []string) {
	list, _ := l.Connections()
	return notInList(list)
}

func notInList(list []Connection) (hosts []string) {
	for _, c := range list {
		host := asEntry(c.Host, c.Port)
		if (c.Refused == notNamed || c.undecided) && IsHostName(c.Host) && c.Host[0] != '_' && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Explain says which hosts were refused, with the line of agent.hcl that would have
// them reached, and which could not be reached; "" where there was none.
func (l *Log) Explain() string {
	list, _ := l.Connections()
	return l.ExplainThose(list...)
}

// ExplainThose is Explain of some connections.
func (l *Log) ExplainThose(list ...Connection) string {
	var said []string
	if hosts := notInList(list); len(hosts) > 0 {
		shown := hosts[:min(len(hosts), mostExplained)]
		more := ""
		if n := len(hosts) - len(shown); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		l.mu.Lock()
		line := Suggest(l.list, shown...)
		l.mu.Unlock()
		said = append(said, fmt.Sprintf("The sandbox refused the network to %s%s. The user can allow that in agent.hcl: %s.",
			strings.Join(shown, ", "), more, line))
	}
	for _, c := range list {
		sentence := ""
		switch {
		case c.Refused != "" && c.Refused != notNamed && c.Refused != ErrUndecided.Error():
			sentence = fmt.Sprintf("The sandbox refused a connection to %s: %s.", asEntry(c.Host, c.Port), c.Refused)
		case c.Failed != "":
			sentence = fmt.Sprintf("%s could not be reached: %s.", asEntry(c.Host, c.Port), c.Failed)
		}
		if sentence != "" && len(said) < mostExplained && !slices.Contains(said, sentence) {
			said = append(said, sentence)
		}
	}
	return strings.Join(said, " ")
}

func (l *Log) refuse(host string, port uint16, why string) {
	l.refused(Connection{Host: host, Port: port, Refused: why})
}

// refuseUnasked is refuse for a connection that a person did not allow.
func (l *Log) refuseUnasked(host string, port uint16, err error) {
	l.refused(Connection{Host: host, Port: port, Refused: err.Error(), undecided: errors.Is(err, ErrUndecided)})
}

func (l *Log) refused(r Connection) {
	if l == nil {
		return
	}
	l.mu.Lock()
	again := l.again(r)
	if !again {
		l.appendConnection(r)
	}
	l.mu.Unlock()
	if !again {
		l.reportFailed(r)
	}
}

// again counts what was refused before.
func (l *Log) again(r Connection) bool {
	for i := range l.connections {
		if c := &l.connections[i]; c.Refused == r.Refused && c.Host == r.Host && c.Port == r.Port {
			c.Times = max(c.Times, 1) + 1
			return true
		}
	}
	return false
}

func (l *Log) add(c Connection, began time.Time) {
	if l == nil {
		return
	}
	c.Seconds = time.Since(began).Round(time.Millisecond).Seconds()
	l.mu.Lock()
	l.appendConnection(c)
	l.mu.Unlock()
	l.reportFailed(c)
}

func (l *Log) appendConnection(c Connection) {
	length := len(c.Host) + len(c.Refused) + len(c.Failed)
	if len(l.connections) == mostKept || l.text+length > mostText {
		l.missed++
		return
	}
	l.text += length
	l.connections = append(l.connections, c)
}

// reportFailed tells of what was refused or failed, without the lock, since Tell may read the log.
func (l *Log) reportFailed(c Connection) {
	if l.Tell != nil && (c.Refused != "" || c.Failed != "") {
		l.Tell(c)
	}
}

type key struct{}

// With gives a context whose processes' connections are logged.
func With(ctx context.Context, l *Log) context.Context { return context.WithValue(ctx, key{}, l) }

// From gives the log of a context, nil when there is none.
func From(ctx context.Context) *Log {
	l, _ := ctx.Value(key{}).(*Log)
	return l
}

var attached sync.Map // of *Log, by *exec.Cmd

// Attach has the connections of a command logged, an *exec.Cmd: this package, which
// reads lists for others, starts nothing. detach is for when it has been started, or
// will not be.
func Attach(cmd any, l *Log) (detach func()) {
	if l == nil {
		return func() {}
	}
	attached.Store(cmd, l)
	return func() { attached.Delete(cmd) }
}

// Of gives the log of a command, nil when there is none.
func Of(cmd any) *Log {
	l, _ := attached.Load(cmd)
	log, _ := l.(*Log)
	return log
}
