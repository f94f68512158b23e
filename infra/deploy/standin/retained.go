package standin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// serveRetained answers calls for the tables and signing keys that deleted stacks have left. It describes tables of stacks.
func (s *Standin) serveRetained(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var in struct {
		TableName                 string
		DeletionProtectionEnabled *bool
		KeyID                     string
		TagFilters                []struct{ Key string }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "SerializationException", err.Error())
		return
	}
	protected, isTable := s.tables[in.TableName]
	owner, isKey := s.keys[in.KeyID]
	switch {
	case operation == "DescribeTable":
		s.describeTable(w, in.TableName)
	case operation == "UpdateTable" && isTable && in.DeletionProtectionEnabled != nil:
		s.tables[in.TableName] = *in.DeletionProtectionEnabled
		answer(w, map[string]any{})
	case operation == "DeleteTable" && isTable && protected:
		refuse(w, http.StatusBadRequest, "ValidationException", "Resource cannot be deleted as it is currently protected against deletion")
	case operation == "DeleteTable" && isTable:
		delete(s.tables, in.TableName)
		delete(s.tags, tableARN(in.TableName))
		answer(w, map[string]any{})
	case operation == "GetResources":
		answer(w, map[string]any{"ResourceTagMappingList": s.tagged(in.TagFilters[0].Key)})
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

// describeTable answers with the warm throughput of a stack's table.
func (s *Standin) describeTable(w http.ResponseWriter, name string) {
	if refused := s.noted("dynamodb:DescribeTable"); refused != "" {
		refuse(w, http.StatusBadRequest, "AccessDeniedException", refused)
		return
	}
	units := func(value string) map[string]any {
		var reads, writes int
		_, _ = fmt.Sscanf(value, "%d,%d", &reads, &writes) // an error: a test gave another text
		return map[string]any{"ReadUnitsPerSecond": reads, "WriteUnitsPerSecond": writes, "Status": "ACTIVE"}
	}
	for _, k := range s.stacks {
		if k.physical("Table") == name {
			table := cmp.Or(s.faults.Warm, k.Parameters["WarmThroughput"], "12000,4000")
			index := map[string]any{"IndexName": "due", "WarmThroughput": units(cmp.Or(s.faults.WarmIndex, table))}
			answer(w, map[string]any{"Table": map[string]any{"TableName": name, "WarmThroughput": units(table), "GlobalSecondaryIndexes": []any{index}}})
			return
		}
	}
	refuse(w, http.StatusBadRequest, "ResourceNotFoundException", "Requested resource not found: Table: "+name+" not found")
}

func tableARN(name string) string {
	return "arn:aws:dynamodb:" + region + ":" + Account + ":table/" + name
}

// tagged returns the resources that have a tag.
func (s *Standin) tagged(key string) []any {
	all := maps.Clone(s.tags)
	for arn, stack := range s.keys {
		all[arn] = append(slices.Clone(all[arn]), fields{{"Key", "latchkey:stack"}, {"Value", stack}})
	}
	for _, a := range s.apis {
		for name, value := range a.Tags {
			all[restAPIs+a.ID] = append(all[restAPIs+a.ID], fields{{"Key", name}, {"Value", value}})
		}
	}
	list := []any{}
	for arn, tags := range all {
		var found []any
		for _, t := range tags {
			if t[0].value == key {
				found = append(found, map[string]any{"Key": key, "Value": t[1].value})
			}
		}
		if found != nil {
			list = append(list, map[string]any{"ResourceARN": arn, "Tags": found})
		}
	}
	return list
}

// Leave adds a table, a key and an API as a deleted stack leaves them. They have only these tags.
func (s *Standin) Leave(stack string, tags map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	table, key := stack+"-Table-1", "arn:aws:kms:"+region+":"+Account+":key/"+stack
	s.tables[table], s.keys[key] = true, stack
	for name, value := range tags {
		tag := fields{{"Key", name}, {"Value", value}}
		s.tags[tableARN(table)], s.tags[key] = append(s.tags[tableARN(table)], tag), append(s.tags[key], tag)
	}
	s.clock++
	s.apis = append(s.apis, &API{ID: fmt.Sprintf("api%d", s.clock), Name: stack, Tags: tags})
}
