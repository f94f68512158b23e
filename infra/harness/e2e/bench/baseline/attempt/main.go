// Command attempt makes the calls of COUNT webhook deliveries. Each delivery makes three signed calls of DynamoDB,
// one of KMS, and one POST.
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"

	"latchkey/pkg/boot"
)

func main() {
	r := boot.New()
	config := r.AWS()
	db, keys := r.DynamoDB(config), kms.NewFromConfig(config)
	table, pk, sk, url := r.Required("TABLE"), r.Required("PK"), r.Required("SK"), r.Required("URL")
	key := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: sk}}
	for range r.Int("COUNT", 1, 1) {
		if err := attempt(context.Background(), db, keys, table, key, url); err != nil {
			log.Fatal(err)
		}
	}
}

func attempt(ctx context.Context, db *dynamodb.Client, keys *kms.Client, table string, key map[string]types.AttributeValue, url string) error {
	if _, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, ConsistentRead: aws.Bool(true), Key: key}); err != nil {
		return err
	}
	for range 2 { // the lease of the attempt, and its result
		if _, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &table, Key: key}); err != nil {
			return err
		}
	}
	_, err := keys.Sign(ctx, &kms.SignInput{
		KeyId: aws.String("key"), Message: make([]byte, 32), MessageType: kmstypes.MessageTypeDigest, SigningAlgorithm: kmstypes.SigningAlgorithmSpecEcdsaSha256,
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("webhook"))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body) // the connection can be reused only after the whole body is read
	return errors.Join(err, res.Body.Close())
}
