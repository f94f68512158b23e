// Command toy is a function for tests. Its event names the action.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type order struct {
	Do      string
	Seconds float64
	Text    string
}

type report struct {
	Text     string
	PID      int
	Ticks    int64             // ticks of the copy's clock
	LeftMs   int64             // milliseconds until the deadline
	ARN, ID  string            // the function's ARN and the request id
	Env      map[string]string // the variables that a test compares
	HomeSeen bool              // whether the variable HOME is set
}

func main() {
	if os.Getenv("FAIL_INIT") != "" {
		fmt.Println("no start")
		os.Exit(1)
	}
	var ticks atomic.Int64
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			ticks.Add(1)
		}
	}()
	lambda.Start(func(ctx context.Context, o order) (report, error) {
		time.Sleep(time.Duration(o.Seconds * float64(time.Second)))
		switch o.Do {
		case "fail":
			return report{}, errors.New(o.Text)
		case "crash":
			os.Exit(3)
		case "log":
			fmt.Println(o.Text)
		case "environment":
			o.Text = strings.Join(os.Environ(), "\n")
		case "wait": // until the file exists
			for _, err := os.Stat(o.Text); err != nil; _, err = os.Stat(o.Text) {
				time.Sleep(time.Millisecond)
			}
		}
		deadline, _ := ctx.Deadline()
		lc, _ := lambdacontext.FromContext(ctx)
		_, home := os.LookupEnv("HOME")
		return report{
			Text: o.Text, PID: os.Getpid(), Ticks: ticks.Load(), LeftMs: time.Until(deadline).Milliseconds(),
			ARN: lc.InvokedFunctionArn, ID: lc.AwsRequestID, HomeSeen: home,
			Env: map[string]string{"OWN": os.Getenv("OWN"), "AWS_REGION": os.Getenv("AWS_REGION"), "NAME": os.Getenv("AWS_LAMBDA_FUNCTION_NAME")},
		}, nil
	})
}
