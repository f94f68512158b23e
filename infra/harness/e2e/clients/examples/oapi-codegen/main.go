// Creates three orgs and an API key, uses and revokes the key: BASE_URL=https://… ACCESS_TOKEN=… go run .
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"example/latchkey" // oapi-codegen -package latchkey -o latchkey/client.go openapi.yaml
)

var ctx = context.Background()

func main() {
	admin := client(os.Getenv("ACCESS_TOKEN"))
	var orgID string
	for _, name := range []string{"Gamma", "Beta", "Acme"} {
		org, err := admin.CreateOrgWithResponse(ctx, nil, latchkey.OrgCreation{Name: name})
		check(err, org.JSON201 != nil)
		orgID = org.JSON201.Id
	}
	name := "server"
	key, err := admin.CreateKeyWithResponse(ctx, orgID, nil, latchkey.KeyCreation{Name: &name})
	check(err, key.JSON201 != nil)

	server := client(key.JSON201.Key)
	access, err := server.GetAppWithResponse(ctx)
	check(err, access.JSON200 != nil)
	fmt.Println("the key of", access.JSON200.Org.Name, "works")

	missing, err := admin.GetOrgWithResponse(ctx, "org_none")
	check(err, missing.ApplicationproblemJSON404 != nil)
	fmt.Println(missing.StatusCode(), missing.ApplicationproblemJSON404.Code)

	orgs, pages, limit := 0, 0, 2
	for params := (&latchkey.ListOrgsParams{Limit: &limit}); pages == 0 || params.Cursor != nil; pages++ {
		page, err := admin.ListOrgsWithResponse(ctx, params)
		check(err, page.JSON200 != nil)
		orgs += len(page.JSON200.Orgs)
		params.Cursor = page.JSON200.NextCursor
	}
	fmt.Println(orgs, "orgs in", pages, "pages")

	revoked, err := admin.RevokeKeyWithResponse(ctx, orgID, key.JSON201.Id, nil)
	check(err, revoked.StatusCode() == http.StatusNoContent)
	refused, err := server.GetAppWithResponse(ctx)
	check(err, refused.ApplicationproblemJSON401 != nil)
	fmt.Println(refused.StatusCode(), refused.ApplicationproblemJSON401.Code)
}

// client returns a client that sends a credential: an access token or an API key.
func client(credential string) *latchkey.ClientWithResponses {
	c, err := latchkey.NewClientWithResponses(os.Getenv("BASE_URL"),
		latchkey.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+credential)
			return nil
		}))
	check(err, true)
	return c
}

func check(err error, answered bool) {
	if err != nil || !answered {
		log.Fatalln("not as expected:", err)
	}
}
