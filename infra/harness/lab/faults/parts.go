package faults

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// partsOf returns the faults that depend on the call's operation. A fault that is listed twice is more frequent.
func partsOf(c call) []named {
	switch c.operation {
	case "TransactWriteItems":
		return []named{
			{"conflict", cancelled("TransactionConflict")}, {"conflict", cancelled("TransactionConflict")},
			{"throttled in a transaction", cancelled("ThrottlingError")},
		}
	case "GetItem":
		return []named{{"slow answer", slow}, {"slow answer", slow}, {"slow answer", slow}}
	case "BatchGetItem":
		return []named{{"unprocessed keys", unprocessed}, {"read at two moments", torn}, {"read at two moments", torn}}
	case "Query":
		return []named{{"short page", short}, {"short page", short}}
	case "SendMessageBatch":
		return []named{{"messages refused", refusedMessages}}
	}
	return nil
}

// cancelled returns a fault: DynamoDB cancels a transaction because of one of its items.
func cancelled(code string) fault {
	return func(c call) (*http.Response, error) {
		var in struct{ TransactItems []json.RawMessage }
		if err := json.Unmarshal(c.body, &in); err != nil || len(in.TransactItems) == 0 {
			return c.send()
		}
		reasons := make([]map[string]string, len(in.TransactItems))
		for i := range reasons {
			reasons[i] = map[string]string{"Code": "None"}
		}
		reasons[int(c.dice*float64(len(reasons)))] = map[string]string{"Code": code, "Message": code}
		text, err := json.Marshal(map[string]any{
			"__type":  "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
			"Message": "Transaction cancelled, please refer cancellation reasons for specific reasons", "CancellationReasons": reasons,
		})
		return answer(c, http.StatusBadRequest, string(text)), err
	}
}

// batch is the request of a BatchGetItem, or its answer.
type batch struct {
	RequestItems    map[string]keys              `json:",omitempty"`
	Responses       map[string][]json.RawMessage `json:",omitempty"`
	UnprocessedKeys map[string]keys
}

type keys struct {
	Keys           []json.RawMessage
	ConsistentRead bool
}

// halves returns the keys of the two halves of a batch on one table. ok is false if the batch has fewer than two keys.
func halves(body []byte) (table string, first, second keys, ok bool) {
	var in batch
	if json.Unmarshal(body, &in) != nil || len(in.RequestItems) != 1 {
		return "", first, second, false
	}
	for name, all := range in.RequestItems {
		half := len(all.Keys) / 2
		table, first, second = name, keys{all.Keys[:half], all.ConsistentRead}, keys{all.Keys[half:], all.ConsistentRead}
	}
	return table, first, second, len(first.Keys) > 0
}

// readPart reads some of a batch's keys.
func (c call) readPart(table string, some keys) (out batch, err error) {
	body, err := json.Marshal(batch{RequestItems: map[string]keys{table: some}})
	if err != nil {
		return out, err
	}
	res, err := c.sendBody(body)
	if err != nil {
		return out, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return out, errLost
	}
	return out, json.NewDecoder(res.Body).Decode(&out)
}

func (c call) answerBatch(out batch) (*http.Response, error) {
	text, err := json.Marshal(out)
	return answer(c, http.StatusOK, string(text)), err
}

// unprocessed reads the second half of a batch, and returns the first half as unprocessed.
func unprocessed(c call) (*http.Response, error) {
	table, first, second, ok := halves(c.body)
	if !ok {
		return c.send()
	}
	out, err := c.readPart(table, second)
	if err != nil {
		return nil, err
	}
	out.UnprocessedKeys = map[string]keys{table: first}
	return c.answerBatch(out)
}

// torn reads the halves of a batch at two moments: a batch of DynamoDB is not a transaction.
func torn(c call) (*http.Response, error) {
	table, first, second, ok := halves(c.body)
	if !ok {
		return c.send()
	}
	out, err := c.readPart(table, first)
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(c.dice * float64(30*time.Millisecond)))
	rest, err := c.readPart(table, second)
	if err != nil {
		return nil, err
	}
	out.Responses[table] = append(out.Responses[table], rest.Responses[table]...)
	return c.answerBatch(out)
}

// slow delays an answer, so that the row may have changed when the answer arrives.
func slow(c call) (*http.Response, error) {
	res, err := c.send()
	time.Sleep(time.Duration(c.dice * float64(60*time.Millisecond)))
	return res, err
}

// short makes a page of a query end early, as DynamoDB does at 1 MB.
func short(c call) (*http.Response, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(c.body, &in); err != nil {
		return nil, err
	}
	var limit int
	if json.Unmarshal(in["Limit"], &limit) == nil && limit <= 2 {
		return c.send()
	}
	in["Limit"] = json.RawMessage("2")
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return c.sendBody(body)
}

// refusedMessages sends no message, and answers that the queue accepted none.
func refusedMessages(c call) (*http.Response, error) {
	var in struct {
		Entries []struct {
			ID string `json:"Id"`
		}
	}
	if err := json.Unmarshal(c.body, &in); err != nil {
		return nil, err
	}
	failed := []map[string]any{}
	for _, e := range in.Entries {
		failed = append(failed, map[string]any{"Id": e.ID, "SenderFault": false, "Code": "InternalError"})
	}
	text, err := json.Marshal(map[string]any{"Successful": []string{}, "Failed": failed})
	return answer(c, http.StatusOK, string(text)), err
}

// isEventual reports whether a call is an eventually consistent read of DynamoDB.
func isEventual(c call) bool {
	switch c.operation {
	case "GetItem", "Query", "BatchGetItem":
		return !strings.Contains(strings.ReplaceAll(string(c.body), " ", ""), `"ConsistentRead":true`)
	}
	return false
}

// oldest is the greatest age of a copy that an eventually consistent read returns.
const oldest = 2 * time.Second

// copied is an earlier answer of DynamoDB.
type copied struct {
	text string
	at   time.Time
}

// oldCopy answers an eventually consistent read. If there is a copy that is younger than oldest, half of the answers are the copy. All
// other answers come from DynamoDB. oldCopy keeps such an answer for later reads if it has no copy that is younger than oldest.
func (c carrier) oldCopy(now call) (*http.Response, error) {
	key := now.operation + string(now.body)
	c.mu.Lock()
	kept, isKept := c.old[key]
	c.mu.Unlock()
	if isKept && time.Since(kept.at) < oldest && now.dice < 0.5 {
		c.count("old copy")
		return answer(now, http.StatusOK, kept.text), nil
	}
	res, err := now.send()
	if err != nil || res.StatusCode != http.StatusOK {
		return res, err
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close() // the whole body is read
	if !isKept || time.Since(kept.at) >= oldest {
		c.mu.Lock()
		if c.old == nil || len(c.old) > 10_000 {
			c.old = map[string]copied{}
		}
		c.old[key] = copied{string(text), time.Now()}
		c.mu.Unlock()
	}
	return answer(now, http.StatusOK, string(text)), nil
}
