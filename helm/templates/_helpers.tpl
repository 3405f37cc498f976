{{/*
Adds each missing value with its default. With `helm upgrade --reuse-values` Helm passes the values of the earlier chart, without newer ones.
Each template starts with it. Values that Kubernetes or a CRD defines are kept whole, so that a null removes one of their fields.
*/}}
{{- define "mediarooms.completeValues" -}}
{{- include "mediarooms.completeGroup" (list .Values (.Files.Get "files/values.yaml" | fromYaml)) -}}
{{- end -}}

{{- define "mediarooms.completeGroup" -}}
{{- $values := index . 0 -}}
{{- range $name, $default := index . 1 -}}
{{- if kindIs "invalid" (index $values $name) -}}
{{- $_ := set $values $name $default -}}
{{- else if and (kindIs "map" $default) (not (has $name (list "resources" "spec" "labels"))) -}}
{{- include "mediarooms.completeGroup" (list (index $values $name) $default) -}}
{{- end -}}
{{- end -}}
{{- end -}}

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

{{/* repository:tag or repository@digest of an image; the version of the chart if neither is set. */}}
{{- define "mediarooms.image" -}}
{{- $image := index . 0 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default (index . 1).Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{/* Namespaces that get a Role; empty if the operator watches all. */}}
{{- define "mediarooms.namespaces" -}}
{{- $watched := .Values.operator.watchNamespaces -}}
{{- if and (has "*" $watched) (gt (len $watched) 1) -}}
{{- fail "operator.watchNamespaces: '*' means all namespaces and must be the only item" -}}
{{- end -}}
{{- if and .Values.mediaCluster.create $watched (not (has "*" $watched)) (not (has .Release.Namespace $watched)) -}}
{{- fail (printf "operator.watchNamespaces must contain %s, the namespace of the MediaCluster; or set mediaCluster.create=false" .Release.Namespace) -}}
{{- end -}}
{{- if not (has "*" .Values.operator.watchNamespaces) -}}
{{- join " " (default (list .Release.Namespace) .Values.operator.watchNamespaces) -}}
{{- end -}}
{{- end -}}

{{/* Tolerations of the operator. Kubernetes itself would wait 300 s before it replaces a pod of a lost Kubernetes node. */}}
{{- define "mediarooms.operatorTolerations" -}}
{{- $tolerations := .Values.operator.tolerations -}}
{{- if .Values.operator.highAvailability -}}
{{- range list "node.kubernetes.io/unreachable" "node.kubernetes.io/not-ready" -}}
{{- $tolerations = append $tolerations (dict "key" . "operator" "Exists" "effect" "NoExecute" "tolerationSeconds" 30) -}}
{{- end -}}
{{- end -}}
{{- toYaml $tolerations -}}
{{- end -}}

{{/*
Affinity of the operator: with highAvailability its pods avoid the Kubernetes node and zone of each other. Topology spread constraints would
have no effect where a Kubernetes node lacks the label of a zone, because the scheduler then ignores all of them.
*/}}
{{- define "mediarooms.operatorAffinity" -}}
{{- $affinity := .Values.operator.affinity -}}
{{- if and .Values.operator.highAvailability (not $affinity) (not .Values.operator.topologySpreadConstraints) -}}
{{- $selector := dict "matchLabels" (include "mediarooms.selector" . | fromYaml) -}}
{{- $terms := list -}}
{{- range $key, $weight := dict "kubernetes.io/hostname" 100 "topology.kubernetes.io/zone" 50 -}}
{{- /* Pods of the previous version must not keep those of the next from spreading. */ -}}
{{- $term := dict "topologyKey" $key "labelSelector" $selector "matchLabelKeys" (list "pod-template-hash") -}}
{{- $terms = append $terms (dict "weight" $weight "podAffinityTerm" $term) -}}
{{- end -}}
{{- $affinity = dict "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" $terms) -}}
{{- end -}}
{{- toYaml $affinity -}}
{{- end -}}

{{/* Security contexts required by Pod Security "restricted". */}}
{{- define "mediarooms.podSecurity" -}}
runAsNonRoot: true
{{- if .Values.podSecurity.fixedUser }}
runAsUser: 10001
runAsGroup: 10001
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "mediarooms.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}
