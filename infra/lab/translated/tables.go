package translated

// Tables returns the properties of each table, by the table's name.
func (t *Template) Tables() map[string]map[string]any {
	out := make(map[string]map[string]any)
	for _, id := range t.Named("AWS::DynamoDB::Table") {
		out[t.tableName(id)] = t.Resources[id].Properties
	}
	return out
}

// HashKeys returns the attribute of the partition key of each table, by the table's name, and of
// each index, by <table>/index/<name>. A table that is not the template's, but whose stream feeds a
// function, is taken for a copy of the template's only table.
func (t *Template) HashKeys() map[string]string {
	out := make(map[string]string)
	for _, id := range t.Named("AWS::DynamoDB::Table") {
		properties := t.Resources[id].Properties
		for _, name := range append(t.streamed(), t.tableName(id)) {
			out[name] = hashKey(properties["KeySchema"])
			indexes, _ := properties["GlobalSecondaryIndexes"].([]any)
			for _, v := range indexes {
				index, _ := v.(map[string]any)
				out[name+"/index/"+scalar(index["IndexName"])] = hashKey(index["KeySchema"])
			}
		}
	}
	return out
}

// streamed returns the names of the tables whose streams feed a function.
func (t *Template) streamed() []string {
	var out []string
	for _, name := range t.Named("AWS::Lambda::EventSourceMapping") {
		if table := tableOf(scalar(t.Resources[name].Properties["EventSourceArn"])); table != "" {
			out = append(out, table)
		}
	}
	return out
}

// hashKey returns the attribute of the partition key in a key schema.
func hashKey(schema any) string {
	parts, _ := schema.([]any)
	for _, v := range parts {
		if part, _ := v.(map[string]any); part["KeyType"] == "HASH" {
			return scalar(part["AttributeName"])
		}
	}
	return ""
}
