/** A server of which nothing is known but its dialect. Open models behind it are likely. */

import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import { effortsByName, rejectedByName } from './openai.ts'

/**
 * Control parameters of servers without a profile, beside those of all vendors. An aggregator as LiteLLM takes addresses, keys and
 * other models; Dynamo, TensorRT-LLM, LMDeploy and LoRAX take sessions, adapters and other engines.
 */
const CONTROL = namesIn(
  'adapter_id adapter_name adapter_source agent_hierarchy api_base api_key api_token api_type api_version base_url best_of cached_content ' +
    'conversation_params custom_llm_provider debug_config disaggregated_params extra_body extra_headers extra_query guided_decoding_backend ' +
    'headers litellm_metadata lora_request merged_adapters migration_request mock_response model_list nvext organization preserve_cache ' +
    'scheduling_params user_config with_cache',
)

export const plain: VendorProfile = {
  name: null,
  authentication: {},
  rejectedParameters: rejectedByName,
  efforts: effortsByName,
  parameters: { chat: () => undefined, control: CONTROL },
  pricedOptions: {},
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: true },
  hostedTools: ['responses', 'messages'],
  usage: {},
}
