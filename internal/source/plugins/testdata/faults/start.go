package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/toolhost/toolhost/plugins/sdk"
)

// stall sleeps longer than a test waits. Go ends a program in which all goroutines are blocked.
func stall() { time.Sleep(time.Hour) }

// startSlow never becomes ready.
func startSlow() { stall() }

func startExit() {
	fmt.Fprintln(os.Stderr, "no licence")
	os.Exit(3)
}

func startNoise() {
	for i := range 1000 {
		fmt.Println("welcome", i)
	}
	serve(func(context.Context) (*sdk.Result, error) { return sdk.Text("fine"), nil })
}

func wrongHandshake() {
	fmt.Println("ready|steady|go")
	stall()
}

// wrongProtocol uses a protocol that is no longer supported.
func wrongProtocol() {
	fmt.Printf("1|0|unix|%s/x|grpc\n", os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
	stall()
}

// newer uses only a protocol that is not supported yet.
func newer() {
	fmt.Printf("1|3|unix|%s/x|grpc\n", os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
	stall()
}
