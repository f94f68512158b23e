package boot

import (
	"io"
	"log/slog"
	"os"
)

// Logger returns a logger that writes one JSON object per line to standard output, where Lambda
// reads it. Time, level and message have the names of Lambda's JSON log format; the time is in UTC. The field service,
// from the variable STACK, is the dimension of every metric.
func Logger() *slog.Logger { return loggerTo(os.Stdout) }

func loggerTo(w io.Writer) *slog.Logger {
	logger := slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 { // the time, the level and the message are never inside a group
				return a
			}
			switch a.Key {
			case slog.TimeKey:
				return slog.Time("timestamp", a.Value.Time().UTC())
			case slog.LevelKey:
				if level, ok := a.Value.Any().(slog.Level); ok {
					a.Value = slog.StringValue(level.String()) // slog writes a Level with encoding/json, which makes a cold start 1 % slower
				}
			case slog.MessageKey:
				a.Key = "message"
			}
			return a
		},
	}))
	return logger.With("service", os.Getenv("STACK"))
}
