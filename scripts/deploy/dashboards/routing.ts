/**
 * Backends and pools: who is called, who fails, who waits.
 */

import { quantile, quantiles, rate, sum, type Dashboard } from './panels.ts'

export const routing: Dashboard = {
  uid: 'routing',
  title: 'Routing and backends',
  rows: [
    {
      title: 'Backends',
      panels: [
        {
          title: 'Calls',
          kind: 'stacked',
          unit: 'reqps',
          queries: [rate('gateway_router_attempts_total', ['backend'])],
        },
        {
          title: 'Failed calls',
          kind: 'stacked',
          unit: 'reqps',
          queries: [rate('gateway_router_attempts_total', ['backend', 'outcome'], '{outcome!~"served|aborted"}')],
        },
        {
          title: 'Duration of calls, 95 %',
          unit: 's',
          queries: [{ expr: quantile(0.95, 'gateway_router_attempt_seconds', ['backend']), legend: '{{backend}}' }],
        },
        {
          title: 'Places taken',
          description: 'Calls under way, of those that may be',
          unit: 'percentunit',
          queries: [
            {
              expr: 'sum by (backend) (gateway_router_backend_running) / sum by (backend) (gateway_router_backend_places)',
              legend: '{{backend}}',
            },
          ],
        },
        {
          title: 'Taken out, or asked for a pause',
          unit: 'short',
          queries: [
            {
              expr: 'sum by (backend) (increase(gateway_router_ejections_total[$__rate_interval]))',
              legend: '{{backend}} out',
            },
            {
              expr: 'sum by (backend) (increase(gateway_router_coolings_total[$__rate_interval]))',
              legend: '{{backend}} pause',
            },
          ],
        },
        {
          title: 'Calls under way',
          kind: 'stacked',
          unit: 'short',
          queries: [sum('gateway_router_backend_running', 'backend')],
        },
      ],
    },
    {
      title: 'Pools',
      panels: [
        {
          title: 'Usable targets',
          description: 'As the router sees it that sees fewest',
          unit: 'percentunit',
          queries: [
            { expr: 'min by (pool) (gateway_router_targets_usable / gateway_router_targets)', legend: '{{pool}}' },
          ],
        },
        {
          title: 'Attempts after a failed one',
          kind: 'stacked',
          unit: 'reqps',
          queries: [rate('gateway_router_failovers_total', ['pool', 'backend'])],
        },
        {
          title: 'Jobs by outcome',
          kind: 'stacked',
          unit: 'reqps',
          queries: [rate('gateway_router_jobs_total', ['outcome'])],
        },
        {
          title: 'Jobs under way and waiting',
          unit: 'short',
          queries: [
            { expr: 'sum(gateway_router_jobs_running)', legend: 'under way' },
            { expr: 'sum(gateway_router_jobs_waiting)', legend: 'waiting' },
          ],
        },
        {
          title: 'Waits for a place, 99 %',
          unit: 's',
          queries: [{ expr: quantile(0.99, 'gateway_router_wait_seconds', ['pool']), legend: '{{pool}}' }],
        },
        {
          title: 'Lag of the parts of streams',
          description: 'In the router; the way to the edge is half of a round trip on the bus',
          unit: 's',
          queries: quantiles('gateway_router_chunk_lag_seconds', 0.5, 0.99),
        },
      ],
    },
  ],
}
