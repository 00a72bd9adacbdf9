# The last release's services and their libraries. User, entrypoint, environment and health check are the base's.

ARG BASE
FROM prove/node AS files
WORKDIR /former
COPY services/package.json ./
RUN npm install --omit=dev --ignore-scripts --no-audit --no-fund
COPY services ./

FROM ${BASE}
COPY --from=files /former /former
WORKDIR /former
