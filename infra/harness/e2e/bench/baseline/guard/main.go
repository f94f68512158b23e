// Command guard checks the API key KEY by COUNT calls of package guard. It is not a baseline: the
// figure door/guard measures it. It is here because it is built as the baselines are.
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
