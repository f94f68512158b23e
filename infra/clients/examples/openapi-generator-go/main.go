// Creates three orgs and an API key, uses and revokes the key: BASE_URL=https://… ACCESS_TOKEN=… go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"example/latchkey" // openapi-generator generate -g go --package-name latchkey -o latchkey -i openapi.yaml
)

func main() {
	config := latchkey.NewConfiguration()
	config.Servers[0].URL = os.Getenv("BASE_URL")
	api := latchkey.NewAPIClient(config)
	admin := as(os.Getenv("ACCESS_TOKEN"))

	var org *latchkey.Org
	for _, name := range []string{"Gamma", "Beta", "Acme"} {
		var err error
		org, _, err = api.OrgsAPI.CreateOrg(admin).OrgCreation(*latchkey.NewOrgCreation(name)).Execute()
		check(err)
	}
	request := latchkey.NewKeyCreation()
	request.SetName("server")
	key, _, err := api.APIKeysAPI.CreateKey(admin, org.Id).KeyCreation(*request).Execute()
	check(err)

	server := as(key.Key)
	access, _, err := api.AppsAPI.GetApp(server).Execute()
	check(err)
	fmt.Println("the key of", access.Org.Name, "works")

	_, res, err := api.OrgsAPI.GetOrg(admin, "org_none").Execute()
	fmt.Println(res.StatusCode, code(err))

	orgs, pages := 0, 0
	for list := api.OrgsAPI.ListOrgs(admin).Limit(2); ; {
		page, _, err := list.Execute()
		check(err)
		orgs, pages = orgs+len(page.Orgs), pages+1
		if page.NextCursor == nil {
			break
		}
		list = list.Cursor(*page.NextCursor)
	}
	fmt.Println(orgs, "orgs in", pages, "pages")

	_, err = api.APIKeysAPI.RevokeKey(admin, org.Id, key.Id).Execute()
	check(err)
	_, res, err = api.AppsAPI.GetApp(server).Execute()
	fmt.Println(res.StatusCode, code(err))
}

// as returns a context that sends a credential: an access token or an API key.
func as(credential string) context.Context {
	return context.WithValue(context.Background(), latchkey.ContextAccessToken, credential)
}

// code returns the code of an error that the API answered.
func code(err error) string {
	var answered *latchkey.GenericOpenAPIError
	if !errors.As(err, &answered) {
		log.Fatalln("no answer of the API:", err)
	}
	return answered.Model().(latchkey.Problem).Code
}

func check(err error) {
	if err != nil {
		log.Fatalln(err)
	}
}
