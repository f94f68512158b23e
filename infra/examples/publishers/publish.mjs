// Publishes an event of your own to an app of a customer. API, TOKEN, ORG and APP come from the environment.
const { API, TOKEN, ORG, APP } = process.env
const event = { id: 'in_4711-paid', type: 'invoice.paid', data: { invoice: 'in_4711', amount: 4900 } }

async function publish(events) {
  for (const wait of [1000, 2000, 4000, 0]) { // milliseconds; the id makes it safe to send the event again
    const answer = await fetch(`${API}/v1/orgs/${ORG}/apps/${APP}/events`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ events }),
      redirect: 'manual',
      signal: AbortSignal.timeout(10_000),
    }).catch((error) => ({ status: 503, reason: error.cause?.code ?? error.name }))
    if (answer.status === 202) return (await answer.json().catch(() => { throw new Error('no JSON') })).events
    // Without the body of the answer: a server's text does not belong in a log.
    if (!wait || (answer.status < 500 && answer.status !== 429)) throw new Error(answer.reason ?? `status ${answer.status}`)
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

const [made] = await publish([event])
console.log(made.id)
