// Package backing runs the services that functions need, on one machine: DynamoDB Local, a KMS, a
// server of queues and a token issuer, each a child process on a loopback port. Tests
// get a real database in two lines:
//
//	db, err := backing.StartDynamoDB(ctx, backing.DynamoDBOptions{})
//	defer db.Stop()
//
// The package is generic: it serves any template. Nothing here is for production.
package backing

// Region is the region of everything local.
const Region = "us-east-1"
