export const handler = async (order, context) => {
  if (order.Do === "fail") throw new TypeError(order.Text);
  return {
    text: order.Text, id: context.awsRequestId, arn: context.invokedFunctionArn, left: context.getRemainingTimeInMillis(),
    own: process.env.OWN, home: "HOME" in process.env, trace: process.env._X_AMZN_TRACE_ID,
  };
};
