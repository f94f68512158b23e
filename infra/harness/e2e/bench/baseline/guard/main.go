// Command guard checks the API key KEY by COUNT calls of package guard. The figures door/guard and door/limited
// measure it. It is in this folder because it is built with the flags of the baselines.
package main

import (
	"context"
	"log"

	"latchkey/pkg/boot"
	"latchkey/pkg/guard"
)

func main() {
	r := boot.New()
	g, headers := guard.New(guard.Config{AWS: r.AWS(), Table: r.Required("TABLE")}), []string{"Bearer " + r.Required("KEY")}
	for range r.Int("COUNT", 1, 1) {
		if _, err := g.Key(context.Background(), headers); err != nil {
			log.Fatal(err)
		}
	}
}
