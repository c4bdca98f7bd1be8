package console

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/toolhost/toolhost/internal/face/show"
)

// Run serves a console on that port of 127.0.0.1 until ctx or in ends: its starter holds in open. It
// prints its address to out, and a new one, which opens the console once, for each line of in. With
// open, a browser opens the first if possible.
func Run(ctx context.Context, port string, open bool, o Options, in io.Reader, out, problems io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server, err := Listen(port, o)
	if err != nil {
		return err
	}
	address := server.Address()
	fmt.Fprintln(out, address)
	if open && BrowserExpected(os.Getenv) {
		server.OpenBrowser(address, func(err error) {
			fmt.Fprintf(problems, "No browser was opened: %s. Open the address yourself.\n", show.Line(err.Error()))
		})
	}
	go func() {
		defer stop()
		for in := bufio.NewReader(in); ; {
			switch b, err := in.ReadByte(); {
			case err != nil:
				return
			case b == '\n':
				fmt.Fprintln(out, server.Address())
			}
		}
	}()
	return server.Serve(ctx)
}
