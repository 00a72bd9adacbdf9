/**
 * How the gateway does at a glance: requests, time, tokens.
 */

import { perSecond, quantile, quantiles, rate, type Dashboard } from './panels.ts'

const FAILED = '{outcome=~"INTERNAL_ERROR|SERVICE_UNAVAILABLE|UPSTREAMS_EXHAUSTED"}'

export const overview: Dashboard = {
  uid: 'overview',
  title: 'Overview',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Requests',
          kind: 'number',
          unit: 'reqps',
          queries: [{ expr: perSecond('gateway_requests_total'), legend: 'all' }],
        },
        {
          title: 'Failed by the gateway or its backends',
          kind: 'number',
          unit: 'percentunit',
          queries: [
            {
              expr: `(${perSecond('gateway_requests_total', [], FAILED)} or vector(0)) / ${perSecond('gateway_requests_total')}`,
              legend: 'share',
            },
          ],
        },
        {
          title: 'Under way',
          kind: 'number',
          unit: 'short',
          queries: [
            { expr: 'sum(gateway_requests_in_flight)', legend: 'requests' },
            { expr: 'sum(gateway_streams_in_flight{service="edge"})', legend: 'streams' },
          ],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          title: 'By outcome',
          kind: 'stacked',
          unit: 'reqps',
          queries: [rate('gateway_requests_total', ['outcome'])],
        },
        { title: 'By model', kind: 'stacked', unit: 'reqps', queries: [rate('gateway_requests_total', ['model'])] },
        {
          title: 'By endpoint',
          kind: 'stacked',
          unit: 'reqps',
          queries: [rate('gateway_requests_total', ['endpoint'])],
        },
      ],
    },
    {
      title: 'Time',
      panels: [
        {
          title: 'Added by the gateway',
          description: 'From request to beginning of answer, less what backends took until then',
          unit: 's',
          queries: quantiles('gateway_added_seconds', 0.5, 0.95, 0.99),
        },
        {
          title: 'To the first token, 95 %',
          unit: 's',
          queries: [{ expr: quantile(0.95, 'gateway_time_to_first_token_seconds', ['model']), legend: '{{model}}' }],
        },
        {
          title: 'Whole requests',
          unit: 's',
          queries: quantiles('gateway_request_seconds', 0.5, 0.95, 0.99),
        },
      ],
    },
    {
      title: 'Tokens',
      panels: [
        {
          title: 'By model',
          kind: 'stacked',
          unit: 'short',
          queries: [rate('gateway_tokens_total', ['model'], '{kind=~"prompt|completion"}')],
        },
        { title: 'By kind', unit: 'short', queries: [rate('gateway_tokens_total', ['kind'])] },
        {
          title: 'Of prompts, cached by backends',
          unit: 'percentunit',
          queries: [
            {
              expr: `${perSecond('gateway_tokens_total', ['model'], '{kind="cached"}')} / ${perSecond('gateway_tokens_total', ['model'], '{kind="prompt"}')}`,
              legend: '{{model}}',
            },
          ],
        },
      ],
    },
  ],
}
