package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gatewayAccount is a stand-in for the account's settings of API Gateway.
type gatewayAccount struct{ role string }

func (g *gatewayAccount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		PatchOperations []struct{ Op, Path, Value string }
	}
	if r.Method == http.MethodPatch {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	for _, p := range in.PatchOperations {
		if p.Op == "replace" && p.Path == "/cloudwatchRoleArn" {
			g.role = p.Value
		}
	}
	answer := map[string]any{"throttleSettings": map[string]any{"rateLimit": 10000, "burstLimit": 5000}}
	if g.role != "" {
		answer["cloudwatchRoleArn"] = g.role
	}
	if r.URL.Path != "/account" {
		w.WriteHeader(http.StatusNotImplemented)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// knownQuotas are the quotas that the runbook names, as in AWS's documentation.
var knownQuotas = []struct{ service, code, name string }{
	{"lambda", "L-B99A9384", "Concurrent executions"},
	{"apigateway", "L-8A5B8E43", "Throttle rate"},
	{"kms", "L-KMS", "Cryptographic operations (ECC) request rate"}, // the documentation has no code
}

// quotas is a stand-in for Service Quotas.
func quotas(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ServiceCode, QuotaCode string
		DesiredValue           float64
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var found []map[string]any
	for _, q := range knownQuotas {
		if q.service == in.ServiceCode && (in.QuotaCode == "" || in.QuotaCode == q.code) {
			found = append(found, map[string]any{"QuotaName": q.name, "QuotaCode": q.code, "Value": 10, "Adjustable": true, "DesiredValue": in.DesiredValue, "Status": "PENDING"})
		}
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	lists := map[string]string{"ListServiceQuotas": "Quotas", "ListRequestedServiceQuotaChangeHistory": "RequestedQuotas"}
	one := map[string]string{"GetServiceQuota": "Quota", "RequestServiceQuotaIncrease": "RequestedQuota"}
	switch {
	case len(found) == 0:
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": "NoSuchResourceException"})
	case lists[operation] != "":
		_ = json.NewEncoder(w).Encode(map[string]any{lists[operation]: found})
	case one[operation] != "":
		_ = json.NewEncoder(w).Encode(map[string]any{one[operation]: found[0]})
	default:
		http.Error(w, operation, http.StatusNotImplemented)
	}
}
