"""The same core as functions that AWS Lambda calls, one module each with a `handler(event, context)`.

- `webhook.handler`: API gateway or function URL, `POST /webhook/{github,gitlab}`
- `vm.handler`: the same, `POST /vm/v1/{vm}/{status,config,reclaim}`
- `worker.handler`: SQS, with `ReportBatchItemFailures`
- `tick.handler`: EventBridge, every minute

`SHADOW_AUTOSCALER_CONFIG` says where the configuration file lies.
"""
