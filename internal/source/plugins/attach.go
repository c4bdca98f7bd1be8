package plugins

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/host/tool"
)

// Limits of a plugin in a debugger, which stops at breakpoints.
const (
	attachedStartTimeout = 10 * time.Minute
	attachedCallTimeout  = 24 * time.Hour
)

// attachment returns the address of the plugin if it already runs.
func (p *plugin) attachment() (Attachment, bool) {
	a, ok := p.manager.options.Attach[p.spec.Name]
	return a, ok
}

func (in *instance) attach(ctx context.Context, at Attachment) error {
	options := append(dialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("unix:"+at.Socket, options...)
	if err != nil {
		return err
	}
	in.conn = conn
	if err := connected(ctx, conn); err != nil {
		return tool.Errorf(tool.Unavailable, "plugin %s, which is to be attached to, does not answer at %s",
			in.plugin.spec.Name, at.Socket).
			Suggest("Run it with the argument attach, and give toolhost the %s that it prints.", AttachVariable)
	}
	raw, err := in.dispenser(at.Protocol).GRPCClient(ctx, nil, conn)
	if err != nil {
		return err
	}
	in.use(raw)
	go in.watch(conn)
	return in.introduce(ctx)
}

// connected waits for a first connection; a refusal is an error.
func connected(ctx context.Context, conn *grpc.ClientConn) error {
	conn.Connect()
	for {
		state := conn.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if state == connectivity.TransientFailure || !conn.WaitForStateChange(ctx, state) {
			return context.DeadlineExceeded
		}
	}
}

// watch treats the connection's end as the process's end.
func (in *instance) watch(conn *grpc.ClientConn) {
	for state := conn.GetState(); state == connectivity.Ready; state = conn.GetState() {
		conn.WaitForStateChange(context.Background(), state)
	}
	conn.Close()
	close(in.runner.exited)
}
