package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// serveRetained answers for what deleted stacks have left: tables, and the signing keys of the template.
func (s *Standin) serveRetained(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var in struct {
		TableName                 string
		DeletionProtectionEnabled *bool
		KeyID                     string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "SerializationException", err.Error())
		return
	}
	protected, isTable := s.tables[in.TableName]
	owner, isKey := s.keys[in.KeyID]
	switch {
	case operation == "ListTables":
		answer(w, map[string]any{"TableNames": slices.AppendSeq([]string{}, maps.Keys(s.tables))})
	case operation == "UpdateTable" && isTable && in.DeletionProtectionEnabled != nil:
		s.tables[in.TableName] = *in.DeletionProtectionEnabled
		answer(w, map[string]any{})
	case operation == "DeleteTable" && isTable && protected:
		refuse(w, http.StatusBadRequest, "ValidationException", "Resource cannot be deleted as it is currently protected against deletion")
	case operation == "DeleteTable" && isTable:
		delete(s.tables, in.TableName)
		answer(w, map[string]any{})
	case operation == "GetResources":
		var list []any
		for arn, stack := range s.keys {
			list = append(list, map[string]any{"ResourceARN": arn, "Tags": []any{map[string]string{"Key": "latchkey:stack", "Value": stack}}})
		}
		answer(w, map[string]any{"ResourceTagMappingList": list})
	case operation == "DescribeKey" && isKey:
		state := "Enabled"
		if owner == "" {
			state = "PendingDeletion"
		}
		answer(w, map[string]any{"KeyMetadata": map[string]any{"KeyId": in.KeyID, "KeyState": state}})
	case operation == "ScheduleKeyDeletion" && isKey:
		s.keys[in.KeyID] = ""
		answer(w, map[string]any{"KeyId": in.KeyID})
	default:
		refuse(w, http.StatusBadRequest, "ResourceNotFoundException", fmt.Sprintf("the stand-in has no %s of %s%s", operation, in.TableName, in.KeyID))
	}
}

// Left returns what is in the account: stacks, tables, keys whose deletion is not scheduled, APIs and objects.
func (s *Standin) Left() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.stacks {
		all = append(all, "the stack "+name)
	}
	for name := range s.tables {
		all = append(all, "the table "+name)
	}
	for arn, stack := range s.keys {
		if stack != "" {
			all = append(all, "the key "+arn)
		}
	}
	for _, a := range s.apis {
		all = append(all, "the API "+a.Name)
	}
	for name := range s.objects {
		all = append(all, "the object "+name)
	}
	slices.Sort(all)
	return all
}
