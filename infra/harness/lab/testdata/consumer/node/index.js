exports.handler = async (event) => ({
  statusCode: 200,
  body: `node ${event.requestContext.authorizer.principalId} ${event.pathParameters.id}`,
});
