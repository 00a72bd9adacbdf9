/**
 * Who is admitted, who is refused by which limit, and what becomes of keys.
 */

import { quantiles, rate, type Dashboard } from './panels.ts'

export const admission: Dashboard = {
  uid: 'admission',
  title: 'Admission and limits',
  rows: [
    {
      title: 'Answers',
      panels: [
        {
          title: 'Answers of admission',
          kind: 'stacked',
          unit: 'reqps',
          queries: [rate('gateway_admission_answers_total', ['answer'])],
        },
        {
          title: 'Refused, by limit',
          kind: 'stacked',
          unit: 'reqps',
          queries: [rate('gateway_admission_answers_total', ['limit'], '{answer="deny"}')],
        },
        { title: 'Duration', unit: 's', queries: quantiles('gateway_admission_seconds', 0.5, 0.99) },
      ],
    },
    {
      title: 'The store',
      panels: [
        {
          title: 'Decided without it',
          unit: 'reqps',
          queries: [rate('gateway_admission_without_store_total', ['instance'])],
        },
        {
          title: 'Filled and warmed',
          unit: 'reqps',
          queries: [rate('gateway_admission_answers_total', ['answer'], '{answer=~"miss|cold|plan"}')],
        },
        {
          title: 'Lapsed reservations',
          unit: 'short',
          queries: [
            {
              expr: 'sum by (service) (increase(gateway_admission_lapsed_leases_total[$__rate_interval]))',
              legend: '{{service}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Keys',
      panels: [
        {
          title: 'Refused credentials',
          kind: 'stacked',
          unit: 'reqps',
          queries: [rate('gateway_requests_total', ['outcome'], '{outcome=~"NO_AUTH|INVALID_KEY|INVALID_TOKEN"}')],
        },
        {
          title: 'Changes not yet known everywhere',
          unit: 'short',
          queries: [{ expr: 'max by (lane) (gateway_keys_outbox_depth)', legend: '{{lane}}' }],
        },
        {
          title: 'Age of the oldest of them',
          unit: 's',
          queries: [{ expr: 'max by (lane) (gateway_keys_outbox_age_seconds)', legend: '{{lane}}' }],
        },
        {
          title: 'Pause of those that fail',
          unit: 's',
          queries: [{ expr: 'max by (lane) (gateway_keys_outbox_pause_seconds)', legend: '{{lane}}' }],
        },
      ],
    },
  ],
}
