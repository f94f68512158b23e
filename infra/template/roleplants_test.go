package template_test

func rolePlants() []plant {
	const (
		transaction = `"ForAnyValue:StringEquals":{"dynamodb:EnclosingOperation":["TransactWriteItems"]}`
		tag         = `"aws:ResourceTag/latchkey:stack"`
	)
	return []plant{
		{"two functions share a role", ownRoles, "OrgsFunction", `"OrgsRole"`, `"KeysRole"`},
		{"a managed policy", ownRoles, "OrgsRole", `"Policies"`, `"ManagedPolicyArns":["arn:aws:iam::aws:policy/x"],"Policies"`},
		{"a role for others", ownRoles, "OrgsRole", "lambda.amazonaws.com", "ec2.amazonaws.com"},
		{"a policy beside the role", ownRoles, "", `"OrgsLogs":{`, `"Extra":{"Type":"AWS::IAM::Policy"},"OrgsLogs":{`},
		{"two functions share a log", ownLogs, "OrgsFunction", `"OrgsLogs"`, `"KeysLogs"`},
		{"a log that never expires", ownLogs, "OrgsLogs", `"RetentionInDays"`, `"Nothing"`},
		{"a log is plain text", ownLogs, "OrgsFunction", `"LogFormat":"JSON"`, `"LogFormat":"Text"`},
		{"a role writes another's log", ownLogs, "OrgsRole", `"OrgsLogs"`, `"KeysLogs"`},
		{"a scan", exact, "OrgsRole", `"dynamodb:Query"`, `"dynamodb:Scan"`},
		{"every action", exact, "OrgsRole", `"dynamodb:Query"`, `"dynamodb:*"`},
		{"every resource", exact, "OrgsRole", `"Resource":` + tableARN, `"Resource":"*"`},
		{"all but an action", exact, "OrgsRole", `"Action":["dynamodb:Query"]`, `"NotAction":["dynamodb:Query"]`},
		{"the deletion of keys", exact, "RotateRole", `"kms:DisableKey"`, `"kms:ScheduleKeyDeletion"`},
		{"every key of the account", exact, "RotateRole", `"Sid":"SigningKeys"`, `"Sid":"Keys"`},
		{"a partition is misspelt", partitioned, "OrgsRole", `"AUD#*"`, `"AUDIT#*"`},
		{"every partition", partitioned, "OrgsRole", `"dynamodb:LeadingKeys":["`, `"dynamodb:Nothing":["`},
		{"a request without a key", partitioned, "OrgsRole", `"Null":{"dynamodb:LeadingKeys":"false"}`, `"Null":{}`},
		{"the indexes too", partitioned, "OrgsRole", `"Resource":` + tableARN, `"Resource":[{"Fn::GetAtt":["Table","Arn"]},{"Fn::Sub":"${Table.Arn}/index/due"}]`},
		{"a write outside of a transaction", transactional, "OrgsRole", transaction, `"Nothing":{}`},
		{"a check that wants a key it has not", transactional, "OrgsRole", `"dynamodb:UpdateItem"],`, `"dynamodb:UpdateItem","dynamodb:ConditionCheckItem"],`},
		{"a check with a write", transactional, "OrgsRole", `["dynamodb:ConditionCheckItem"]`, `["dynamodb:ConditionCheckItem","dynamodb:PutItem"]`},
		{"members write credentials", writers, "MembersRole", `"AUD#*"`, `"KEYS#*"`},
		{"any key of the account", tagged, "RotateRole", tag, `"aws:ResourceTag/other"`},
		{"keys of another stack", tagged, "RotateRole", tag + `:{"Ref":"AWS::StackName"}`, tag + `:"other"`},
		{"the rotation takes another stack's key", tagged, "RotateRole", `"StringEqualsIfExists"`, `"StringNotEqualsIfExists"`},
		{"a key for anything", tagged, "RotateRole", `"kms:KeySpec":"ECC_NIST_P256"`, `"kms:KeySpec":"SYMMETRIC_DEFAULT"`},
		{"messages of any form are signed", tagged, "DeliverRole", `"kms:MessageType":"DIGEST"`, `"kms:MessageType":"RAW"`},
		{"deliver reaches keys", partitioned, "DeliverRole", `"VKEYS"`, `"KEY#*"`},
		{"the sweep writes credentials", writers, "SweepRole", `"USED#*"`, `"KEYS#*"`},
		{"another reads the index", partitioned, "SweepRole", `"Sid":"ReadWhatIsDue"`, `"Sid":"Read"`},
		{"the template's key has no tag", tagged, "SigningKey", `"latchkey:stack"`, `"stack"`},
	}
}
