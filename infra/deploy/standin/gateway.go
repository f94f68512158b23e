package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// API is an API of API Gateway.
type API struct {
	ID, Name    string
	Tags        map[string]string
	Protocol    string                      // HTTP or WEBSOCKET; "" is a REST API
	Authorizers []map[string]any            // as API Gateway returns them
	Stages      map[string][]map[string]any // a REST API's authorizers as each stage was deployed
}

// AddAPI adds an API to the account.
func (s *Standin) AddAPI(a API) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apis = append(s.apis, &a)
}

// serveGateway lists APIs and authorizers, one item a page, and stages. It changes authorizers and deploys APIs.
func (s *Standin) serveGateway(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if refused := s.noted("apigateway:" + r.Method); refused != "" {
		refuse(w, http.StatusForbidden, "AccessDeniedException", refused)
		return
	}
	if r.URL.Path == "/account" {
		s.serveAccount(w)
		return
	}
	path, ofREST := strings.CutPrefix(r.URL.Path, "/restapis")
	path = strings.Trim(strings.TrimPrefix(path, "/v2/apis"), "/")
	if path == "" && r.Method == http.MethodPost {
		s.createAPI(w, r)
		return
	}
	if path == "" {
		s.listAPIs(w, r, ofREST)
		return
	}
	id, path, _ := strings.Cut(path, "/")
	at := slices.IndexFunc(s.apis, func(a *API) bool { return a.ID == id })
	if at < 0 {
		refuse(w, http.StatusNotFound, "NotFoundException", "no API "+id)
		return
	}
	switch a := s.apis[at]; {
	case path == "" && r.Method == http.MethodPut:
		a.overwrite(w, r)
	case path == "" && r.Method == http.MethodDelete:
		s.apis = slices.Delete(s.apis, at, at+1)
		w.WriteHeader(http.StatusAccepted)
	case path == "authorizers":
		onePage(w, r, a.Authorizers, ofREST)
	case strings.HasPrefix(path, "authorizers/"):
		a.change(w, r, strings.TrimPrefix(path, "authorizers/"), ofREST)
	case path == "stages":
		var all []map[string]any
		for _, name := range slices.Sorted(maps.Keys(a.Stages)) {
			all = append(all, map[string]any{"stageName": name})
		}
		answer(w, map[string]any{"item": all})
	case path == "deployments":
		a.deploy(w, r)
	default:
		a.export(w, r, path)
	}
}

// createAPI adds a REST API.
func (s *Standin) createAPI(w http.ResponseWriter, r *http.Request) {
	var in API
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Name == "" {
		refuse(w, http.StatusBadRequest, "BadRequestException", "no name")
		return
	}
	s.clock++
	a := &API{ID: fmt.Sprintf("api%d", s.clock), Name: in.Name, Tags: in.Tags}
	s.apis = append(s.apis, a)
	w.WriteHeader(http.StatusCreated)
	answer(w, map[string]any{"id": a.ID, "name": a.Name})
}

// serveAccount answers with API Gateway's settings of the account.
func (s *Standin) serveAccount(w http.ResponseWriter) {
	settings := map[string]any{"cloudwatchRoleArn": "arn:aws:iam::" + Account + ":role/apigateway-logs"}
	if s.faults.NoLogRole {
		settings = map[string]any{}
	}
	answer(w, settings)
}

// overwrite gives an API the title of an OpenAPI document, and ignores the rest of the document.
func (a *API) overwrite(w http.ResponseWriter, r *http.Request) {
	var document struct{ Info struct{ Title string } }
	if err := json.NewDecoder(r.Body).Decode(&document); err != nil || document.Info.Title == "" {
		refuse(w, http.StatusBadRequest, "BadRequestException", "Invalid OpenAPI input")
		return
	}
	a.Name = document.Info.Title
	answer(w, map[string]any{"id": a.ID, "name": a.Name})
}

func (s *Standin) listAPIs(w http.ResponseWriter, r *http.Request, ofREST bool) {
	var all []map[string]any
	for _, a := range s.apis {
		switch {
		case (a.Protocol == "") != ofREST: // this call lists the other kind
		case ofREST:
			all = append(all, map[string]any{"id": a.ID, "name": a.Name})
		default:
			all = append(all, map[string]any{"apiId": a.ID, "name": a.Name, "protocolType": a.Protocol})
		}
	}
	onePage(w, r, all, ofREST)
}

// onePage answers with the item that the request's token names, and a token for the next one.
func onePage(w http.ResponseWriter, r *http.Request, all []map[string]any, ofREST bool) {
	list, token, given := "items", "nextToken", r.URL.Query().Get("nextToken")
	if ofREST {
		list, token, given = "item", "position", r.URL.Query().Get("position")
	}
	from, _ := strconv.Atoi(given) // without a token: 0, the first item
	page := map[string]any{list: all[min(from, len(all)):min(from+1, len(all))]}
	if from+1 < len(all) {
		page[token] = strconv.Itoa(from + 1)
	}
	answer(w, page)
}

// change changes an authorizer. The request for a REST API has patch operations; for another API it has the new members.
func (a *API) change(w http.ResponseWriter, r *http.Request, id string, ofREST bool) {
	var members map[string]any
	var patch struct {
		PatchOperations []struct{ Op, Path, Value string }
	}
	into := any(&members)
	if ofREST {
		into = &patch
	}
	at := slices.IndexFunc(a.Authorizers, func(one map[string]any) bool { return one["id"] == id || one["authorizerId"] == id })
	if err := json.NewDecoder(r.Body).Decode(into); err != nil || r.Method != http.MethodPatch || at < 0 {
		refuse(w, http.StatusBadRequest, "BadRequestException", fmt.Sprint(r.Method, id, err))
		return
	}
	changed := maps.Clone(a.Authorizers[at])
	maps.Copy(changed, members)
	for _, p := range patch.PatchOperations {
		number, err := strconv.Atoi(p.Value)
		switch {
		case p.Op == "replace" && p.Path == "/type":
			changed["type"] = p.Value
		case p.Op == "replace" && p.Path == "/authorizerResultTtlInSeconds" && err == nil:
			changed["authorizerResultTtlInSeconds"] = number
		default:
			refuse(w, http.StatusBadRequest, "BadRequestException", "Invalid patch path "+p.Path)
			return
		}
	}
	a.Authorizers[at] = changed
	answer(w, changed)
}

// deploy gives a stage the authorizers that the API has now.
func (a *API) deploy(w http.ResponseWriter, r *http.Request) {
	var in struct{ StageName string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.StageName == "" {
		refuse(w, http.StatusBadRequest, "BadRequestException", "no stage")
		return
	}
	a.Stages[in.StageName] = slices.Clone(a.Authorizers)
	w.WriteHeader(http.StatusCreated)
	answer(w, map[string]any{"id": "d1"})
}

// export answers with an OpenAPI document that only has the authorizers of a stage.
func (a *API) export(w http.ResponseWriter, r *http.Request, path string) {
	stage := strings.TrimSuffix(strings.TrimPrefix(path, "stages/"), "/exports/oas30")
	deployed, ok := a.Stages[stage]
	if !ok || r.URL.Query().Get("extensions") != "authorizers" {
		refuse(w, http.StatusNotFound, "NotFoundException", "no "+path)
		return
	}
	schemes := map[string]any{}
	for _, one := range deployed {
		exported := maps.Clone(one)
		exported["type"] = strings.ToLower(fmt.Sprint(exported["type"]))
		schemes[fmt.Sprint(one["name"])] = map[string]any{"type": "apiKey", "x-amazon-apigateway-authorizer": exported}
	}
	answer(w, map[string]any{"openapi": "3.0.1", "components": map[string]any{"securitySchemes": schemes}})
}
