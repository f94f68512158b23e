// The runtime of functions in Node.js. It gets events from the Runtime API, and calls the handler with one event at a time.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const { AWS_LAMBDA_RUNTIME_API: api, LAMBDA_TASK_ROOT: root, _HANDLER: name, AWS_LAMBDA_FUNCTION_NAME: functionName } = process.env;
const base = `http://${api}/2018-06-01/runtime/`;
const post = (path, body) => fetch(base + path, { method: "POST", body: JSON.stringify(body ?? null) });
const failure = (error) => ({ errorType: error?.name ?? "Error", errorMessage: error?.message ?? String(error), trace: error?.stack?.split("\n") });

async function load() {
  const dot = name.lastIndexOf(".");
  const path = [".js", ".mjs", ".cjs"].map((end) => join(root, name.slice(0, dot) + end)).find(existsSync);
  if (!path) throw new Error(`no file exists for the handler ${name}`);
  const module = await import(pathToFileURL(path));
  const handler = module[name.slice(dot + 1)] ?? module.default?.[name.slice(dot + 1)];
  if (typeof handler !== "function") throw new Error(`${path} exports no function ${name.slice(dot + 1)}`);
  return handler.length > 2 ? promisify(handler) : handler;
}

let handler;
try {
  handler = await load();
} catch (error) {
  console.error(error);
  await post("init/error", failure(error));
  process.exit(1);
}
for (;;) {
  const next = await fetch(base + "invocation/next");
  const awsRequestId = next.headers.get("lambda-runtime-aws-request-id");
  process.env._X_AMZN_TRACE_ID = next.headers.get("lambda-runtime-trace-id");
  const deadline = Number(next.headers.get("lambda-runtime-deadline-ms"));
  const context = {
    awsRequestId, functionName, invokedFunctionArn: next.headers.get("lambda-runtime-invoked-function-arn"),
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
  try {
    const answer = await handler(await next.json(), context);
    await post(`invocation/${awsRequestId}/response`, answer);
  } catch (error) {
    console.error(error);
    await post(`invocation/${awsRequestId}/error`, failure(error));
  }
}
