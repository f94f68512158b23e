package boot

import (
	"log/slog"
	"os"
)

// Logger returns a logger that writes one JSON object a line to standard output, where Lambda
// reads it. The names of its own fields are those of Lambda's JSON log format. The member
// service, from the variable STACK, is the dimension of every metric.
func Logger() *slog.Logger {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch a.Key {
			case slog.TimeKey:
				a.Key = "timestamp"
			case slog.MessageKey:
				a.Key = "message"
			}
			return a
		},
	}))
	return logger.With("service", os.Getenv("STACK"))
}
