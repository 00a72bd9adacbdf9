import { readFile, writeFile } from 'node:fs/promises'
import OpenAI from 'openai'

const { admin } = new OpenAI({ apiKey: null }) // OPENAI_BASE_URL and OPENAI_ADMIN_KEY
const { projects } = admin.organization
const teams = JSON.parse(await readFile(process.argv[2], 'utf8'))

const known = new Map()
for await (const { id, name } of projects.list({ limit: 100 })) known.set(name, id)

const newKeys = {}
for (const { team, dollarsAMonth, models, requestsAMinute } of teams) {
  const id = known.get(team) ?? (await projects.create({ name: team, plan: 'payg' })).id
  await projects.spendLimit.update(id, { currency: 'USD', interval: 'month', threshold_amount: dollarsAMonth * 100 })
  await projects.modelPermissions.update(id, { mode: 'allow_list', model_ids: models })
  for (const model of models) {
    await projects.rateLimits.updateRateLimit(`rl_${model}`, {
      project_id: id,
      max_requests_per_1_minute: requestsAMinute,
    })
  }
  if (known.has(team)) continue
  const { api_key } = await projects.serviceAccounts.create(id, { name: 'production' })
  newKeys[team] = api_key.value
}
await writeFile(process.argv[3], JSON.stringify(newKeys), { mode: 0o600 })
console.log(`${teams.length} teams, ${Object.keys(newKeys).length} new`)
