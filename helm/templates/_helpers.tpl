{{- define "mediarooms.name" -}}
{{- printf "%s-operator" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "mediarooms.serviceAccount" -}}
{{- default (include "mediarooms.name" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "mediarooms.cluster" -}}
{{- default (.Release.Name | trunc 40 | trimSuffix "-") .Values.mediaCluster.name -}}
{{- end -}}

{{- define "mediarooms.selector" -}}
app.kubernetes.io/name: mediarooms
app.kubernetes.io/component: operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mediarooms.labels" -}}
{{ include "mediarooms.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* repository:tag or repository@digest of an image; the chart's version where nothing is said. */}}
{{- define "mediarooms.image" -}}
{{- $image := index . 0 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default (index . 1).Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{/* The namespaces that get a Role; none where the operator watches all. */}}
{{- define "mediarooms.namespaces" -}}
{{- $watched := .Values.operator.watchNamespaces -}}
{{- if and (has "*" $watched) (gt (len $watched) 1) -}}
{{- fail "operator.watchNamespaces: '*' is all namespaces, and stands alone" -}}
{{- end -}}
{{- if and .Values.mediaCluster.create $watched (not (has "*" $watched)) (not (has .Release.Namespace $watched)) -}}
{{- fail (printf "operator.watchNamespaces must have %s, where the MediaCluster is made; or set mediaCluster.create=false" .Release.Namespace) -}}
{{- end -}}
{{- if not (has "*" .Values.operator.watchNamespaces) -}}
{{- join " " (default (list .Release.Namespace) .Values.operator.watchNamespaces) -}}
{{- end -}}
{{- end -}}

{{/* What Pod Security "restricted" asks of a pod and of a container. */}}
{{- define "mediarooms.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "mediarooms.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}
