"""Frameworks talk to nobody while they are tested."""

import os

os.environ.update(
    ANONYMIZED_TELEMETRY="False",
    CREWAI_DISABLE_TELEMETRY="true",
    LANGSMITH_TRACING="false",
    LLAMA_INDEX_CACHE_DIR="/nonexistent",
    MEM0_TELEMETRY="False",
    OPENAI_AGENTS_DISABLE_TRACING="1",
    OTEL_SDK_DISABLED="true",
)
